import { pasted } from '../../domain/texts.ts';

/** A handle or a DID as people copy it: out of a sentence, with an @ before it and a full stop behind it. */
export const accountName = (typed: string): string =>
  pasted(typed).replace(/^@/v, '').replace(/\.$/v, '');
