import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../answer.ts';
import type { OauthErrorBody } from './authorization-server.ts';

/** A token endpoint's error response. Contains no secret. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal';
  readonly status: number;
  /** Empty when the response is not from a token endpoint, but from a proxy for example. */
  readonly refused: OauthErrorBody;
  /** For the end of a sentence: the status, and the server's message in quotation marks if there is one. */
  readonly details: string;
  /** When requests are accepted again, in milliseconds since 1970, if the response says so. */
  readonly retryAtMs: number | undefined;

  /** @param secrets Removed from the server's message, which may repeat its input. */
  constructor(response: EgressResponse, secrets: readonly string[], nowMs: number) {
    const { error = '', error_description: description = '' } = readRefusal(response);
    const serverMessage = quote(description || error, secrets);
    const details = `(HTTP ${response.status})${serverMessage && `: ${serverMessage}`}`;
    super(`The token endpoint refused ${details}.`);
    this.status = response.status;
    this.refused = { error, description };
    this.details = details;
    this.retryAtMs = retryAtMs(response, nowMs);
  }
}

type RefusalBody = { readonly error?: string; readonly error_description?: string };

const readBody = answerReader<RefusalBody>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
});

/** Reads only 4xx: a 5xx describes a failure of the server, not a refusal. */
const readRefusal = (response: EgressResponse): RefusalBody =>
  (response.status >= 400 && response.status < 500 && readBody(jsonOf(response))) || {};
