import type { Reply } from '../../support/client.ts';

/** Notes that a call was answered so. @param call Method and path as the document has them: `get /posts/{id}`. */
export type Look = (call: string, reply: Reply) => void;

export const json = { 'content-type': 'application/json' };

/** A path as the document has it, with an id in the place of each parameter. */
export const filled = (path: string): string => path.replaceAll(/\{\w+\}/gv, crypto.randomUUID());
