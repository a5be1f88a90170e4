import type { LimitScope } from '../domain/channel-error.ts';

/** What a server that met its limit does, for messages: "The … server takes no more requests …". */
export const takesNoMore: Readonly<Record<LimitScope, string>> = {
  channel: 'takes no more requests for now',
  server: 'takes no more requests from this service for now, whichever account they are for',
  network: 'takes no more requests from this service for now, whichever account they are for',
};
