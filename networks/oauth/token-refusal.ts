import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf, quote, retryAtMs } from '../answer.ts';
import type { Refused } from './authorization-server.ts';

/** A token endpoint's answer without tokens. It holds no secret. */
export class TokenRefusal extends Error {
  override readonly name = 'TokenRefusal';
  readonly status: number;
  /** Empty where the answer is none of a token endpoint's: that of a proxy, say. */
  readonly refused: Refused;
  /** For the end of a sentence: the status, and the server's words in quotation marks where it has some. */
  readonly said: string;
  /** When requests are taken again, in milliseconds since 1970, where the answer tells. */
  readonly retryAtMs: number | undefined;

  /** @param secrets Taken out of the server's words: it may repeat what it was sent. */
  constructor(response: EgressResponse, secrets: readonly string[], nowMs: number) {
    const { error = '', error_description: description = '' } = readRefusal(response);
    const words = quote(description || error, secrets);
    const said = `(HTTP ${response.status})${words && `: ${words}`}`;
    super(`The token endpoint refused ${said}.`);
    this.status = response.status;
    this.refused = { error, description };
    this.said = said;
    this.retryAtMs = retryAtMs(response, nowMs);
  }
}

type RefusalBody = { readonly error?: string; readonly error_description?: string };

const readBody = answerReader<RefusalBody>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
});

/** A refusal is 4xx: what a server says when it fails is about nothing but the server. */
const readRefusal = (response: EgressResponse): RefusalBody =>
  (response.status >= 400 && response.status < 500 && readBody(jsonOf(response))) || {};
