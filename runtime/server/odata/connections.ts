import type { Exchange } from "../../core/handler/exchange.js";
import { requestAddress } from "../../core/http/request-address.js";
import { queryOf } from "../../core/http/route.js";
import type { Reply } from "../../core/http/send.js";
import { httpError, type HttpError } from "../../core/model/errors.js";
import { escaped } from "./csdl-xml.js";
import { setName } from "./names.js";
import { ROOT } from "./set-request.js";

/** Files that open a set in a program: what the explorer's menu links. They hold an address and no key. */
export const CONNECTIONS = {
  /** Of Excel: a query of Power Query. */
  "connection.odc": { ending: "odc", type: "text/x-ms-odc; charset=utf-8", textOf: excelText },
  /** Of Power BI Desktop. */
  "connection.pbids": { ending: "pbids", type: "application/json; charset=utf-8", textOf: powerBiText },
} as const;

/** Whether there is such an endpoint is not said: the programs ask for it with the reader's key. */
export function connectionFile(
  { gateway, request }: Exchange,
  { ending, type, textOf }: (typeof CONNECTIONS)[keyof typeof CONNECTIONS],
): Reply | HttpError {
  const path = queryOf(request).get("path") ?? "";
  if (!/^\/v1\/[^/]{1,255}(?:\/[^/]{1,255}){1,3}$/.test(path))
    return httpError("valueNotOfType", { name: "path", type: "the path of an endpoint" });
  const name = setName(path);
  const address = `${requestAddress(gateway, request)}${ROOT}/${encodeURIComponent(name)}`;
  const file = encodeURIComponent(`${name}.${ending}`);
  return {
    status: 200,
    body: textOf(address, name),
    headers: { "Content-Type": type, "Content-Disposition": `attachment; filename*=UTF-8''${file}` },
  };
}

function powerBiText(address: string): string {
  const details = { protocol: "odata", address: { url: address } };
  return JSON.stringify({ version: "0.1", connections: [{ details, options: {}, mode: "Import" }] });
}

function excelText(address: string, name: string): string {
  const query = escaped(name);
  const formula = `let Source = OData.Feed("${address}", null, [Implementation = "2.0"]) in Source`;
  const mashup = `<Mashup xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns="http://schemas.microsoft.com/DataMashup"><Client>EXCEL</Client><Version>2.140.405.0</Version><MinVersion>2.21.0.0</MinVersion><Culture>en-US</Culture><SafeCombine>false</SafeCombine><Items><Query Name="${query}"><Formula>${escaped(formula)}</Formula><IsParameterQuery xsi:nil="true"/><IsDirectQuery xsi:nil="true"/></Query></Items></Mashup>`;
  return `<html xmlns:o="urn:schemas-microsoft-com:office:office" xmlns="http://www.w3.org/TR/REC-html40">
<head>
<meta http-equiv=Content-Type content="text/x-ms-odc; charset=utf-8">
<meta name=ProgId content=ODC.Database>
<meta name=SourceType content=OLEDB>
<title>${query}</title>
<xml id=msodc><odc:OfficeDataConnection xmlns:odc="urn:schemas-microsoft-com:office:odc" xmlns="http://www.w3.org/TR/REC-html40">
<odc:PowerQueryConnection odc:Type="OLEDB">
<odc:ConnectionString>Provider=Microsoft.Mashup.OleDb.1;Data Source=$Workbook$;Location=${query};Extended Properties=&quot;&quot;</odc:ConnectionString>
<odc:CommandType>SQL</odc:CommandType>
<odc:CommandText>SELECT * FROM [${query}]</odc:CommandText>
</odc:PowerQueryConnection>
<odc:PowerQueryMashupData>${escaped(mashup)}</odc:PowerQueryMashupData>
</odc:OfficeDataConnection></xml>
</head>
<body></body>
</html>
`;
}
