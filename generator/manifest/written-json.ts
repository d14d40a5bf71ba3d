/** A JSON value whose text is known, as a whole document has it at the place of the value. */
export class WrittenJson {
  constructor(readonly text: string) {}
}
