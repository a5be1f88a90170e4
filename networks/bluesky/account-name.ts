import { pasted } from '../../domain/texts.ts';

/** Cleans a handle or a DID that was copied from a sentence: removes a leading @ and a trailing full stop. */
export const accountName = (typed: string): string =>
  pasted(typed).replace(/^@/v, '').replace(/\.$/v, '');
