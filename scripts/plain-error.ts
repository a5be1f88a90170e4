/** Its message says all that a person needs to know, so it is shown without a stack. */
export class PlainError extends Error {
  override readonly name: string = 'PlainError';
}
