/** An answer that has come whole. */
export interface Answer {
  readonly status: number;
  readonly bodyBytes: number;
}

/**
 * Cuts what a connection sends into answers, by Content-Length. It looks at the head and only counts the body: the load
 * must cost less than the servers under it.
 */
export class AnswerReader {
  /** A head of which the end has not come yet. */
  #begun = "";
  #answer: Answer | null = null;
  #missing = 0;

  /** Takes the next bytes and returns the answer that they complete, or null. Throws when they are no such answer. */
  take(bytes: Buffer): Answer | null {
    if (this.#answer === null) this.#takeHead(bytes);
    else this.#missing -= bytes.length;
    if (this.#answer === null || this.#missing > 0) return null;
    if (this.#missing < 0) throw new Error("more came than Content-Length says");
    const answer = this.#answer;
    this.#answer = null;
    return answer;
  }

  #takeHead(bytes: Buffer): void {
    const end = bytes.indexOf("\r\n\r\n");
    if (end === -1 || this.#begun !== "") return this.#takePart(bytes);
    this.#begin(bytes.toString("latin1", 0, end), bytes.length - end - 4);
  }

  /** A head that came in pieces: rare, so it may cost. */
  #takePart(bytes: Buffer): void {
    const text = this.#begun + bytes.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    this.#begun = end === -1 ? text : "";
    if (end !== -1) this.#begin(text.slice(0, end), text.length - end - 4);
  }

  #begin(head: string, bytesOfBody: number): void {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const status = Number(head.slice(9, 12));
    if (!head.startsWith("HTTP/1.1 ") || (length === undefined && status !== 304))
      throw new Error(`not an answer with a Content-Length: ${head.slice(0, 200)}`);
    this.#answer = { status, bodyBytes: Number(length ?? 0) };
    this.#missing = this.#answer.bodyBytes - bytesOfBody;
  }
}
