import { jsonOf } from '../answer.ts';
import { readSource, type Status } from './answers.ts';
import { get, type Access } from './client.ts';
import { refusal, unreadable } from './errors.ts';
import { isSameContent, isSameSource } from './same-text.ts';

/** What a server answers that does not offer a status's source, or not to this token. */
const notOffered: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 501]);

/**
 * Whether a status says a text, by its raw source or, where the server offers none, by its HTML.
 *
 * @throws NetworkError with `taken: 'unknown'` when the server does not tell now.
 */
export async function saysText(access: Access, status: Status, text: string): Promise<boolean> {
  const path = `/api/v1/statuses/${encodeURIComponent(status.id)}/source`;
  const response = await get(access, path, 'look');
  if (notOffered.has(response.status)) {
    return isSameContent(status, text);
  }

  if (response.status !== 200) {
    throw refusal(response, { purpose: 'look', accessToken: access.accessToken });
  }

  const source = readSource(jsonOf(response));
  if (!source) {
    throw unreadable('look');
  }
  return isSameSource(source.text, text);
}
