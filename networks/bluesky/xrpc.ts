import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { ask, type Purpose, type Question, type Way } from '../ask.ts';

const server = 'The Bluesky server';

/** Calls a method that reads. Needs no session: what is asked here is public. Hands back refusals as they are. */
export const query = (
  way: Way,
  method: string,
  parameters: Readonly<Record<string, string>>,
  purpose: Purpose,
): Promise<EgressResponse> => {
  const path = `/xrpc/${method}?${new URLSearchParams(parameters)}`;
  return ask(way, { method: 'GET', path, purpose }, server);
};

/** Calls a method that changes something. Hands back refusals as they are. */
export const procedure = (
  way: Way,
  method: string,
  input: unknown,
  options: { readonly purpose: Purpose; readonly accessJwt?: string },
): Promise<EgressResponse> => {
  const { purpose, accessJwt } = options;
  const headers = accessJwt === undefined ? {} : bearer(accessJwt);
  return ask(
    way,
    { method: 'POST', path: `/xrpc/${method}`, headers, body: input, purpose },
    server,
  );
};

/** Brings a file. Hands back refusals as they are. */
export const uploadBlob = (
  way: Way,
  file: NonNullable<Question['file']>,
  accessJwt: string,
): Promise<EgressResponse> => {
  const path = '/xrpc/com.atproto.repo.uploadBlob';
  const headers = bearer(accessJwt);
  return ask(way, { method: 'POST', path, headers, file, purpose: 'upload' }, server);
};

const bearer = (accessJwt: string) => ({ authorization: `Bearer ${accessJwt}` });
