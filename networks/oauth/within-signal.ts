import type { Egress } from '../../runtime/egress/egress.ts';
import type { OauthContext } from '../oauth.ts';

/** The way out of a step, whose requests all end with it: a person waits for them together. */
export const withinSignal = ({ http, signal }: Pick<OauthContext, 'http' | 'signal'>): Egress =>
  signal === undefined
    ? http
    : { ...http, request: (request) => http.request({ signal, ...request }) };
