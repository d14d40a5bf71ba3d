import { generateKeyPairSync, sign } from "node:crypto";

/** A server's key and a self-signed certificate for `localhost`, made for one test run. */
export function selfSigned(): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(COMMON_NAME, tagged(0x0c, Buffer.from("localhost")))));
  const toBeSigned = sequence(
    tagged(0x02, Buffer.from([1])),
    ECDSA_SHA256,
    name,
    sequence(tagged(0x17, Buffer.from("200101000000Z")), tagged(0x17, Buffer.from("491231235959Z"))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", toBeSigned, privateKey);
  const certificate = sequence(
    toBeSigned,
    ECDSA_SHA256,
    tagged(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }) as string, cert: pem(certificate) };
}

/** X.509 is written in DER: a tag, a length, the content. */
function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x30, ...parts);
}

function set(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x31, ...parts);
}

/** Object identifiers 2.5.4.3 and 1.2.840.10045.4.3.2. */
const COMMON_NAME = tagged(0x06, Buffer.from([0x55, 0x04, 0x03]));
const ECDSA_SHA256 = sequence(tagged(0x06, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])));

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
