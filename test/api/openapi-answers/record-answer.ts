import type { Reply } from '../../support/client.ts';

/** Records the response of a call. @param call Method and path as in the document: `get /posts/{id}`. */
export type RecordAnswer = (call: string, reply: Reply) => void;

export const json = { 'content-type': 'application/json' };

/** A path of the document, with an id for each parameter. */
export const filled = (path: string): string => path.replaceAll(/\{\w+\}/gv, crypto.randomUUID());
