import type { Egress } from '../../runtime/egress/egress.ts';
import type { OauthContext } from './contract.ts';

/** Egress for one step, whose requests all end with its signal, because a person waits for them. */
export const withinSignal = ({ http, signal }: Pick<OauthContext, 'http' | 'signal'>): Egress =>
  signal === undefined
    ? http
    : { ...http, request: (request) => http.request({ signal, ...request }) };
