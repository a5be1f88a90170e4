import { storeOperatorKey } from '../../cli/admin/operator-keys.ts';
import { clientFor, type Client } from './client.ts';
import type { Punctual } from './punctual.ts';

/** Creates an operator key, and a client for it, which acts in no workspace. */
export async function newOperator({
  orm,
  url,
}: Punctual): Promise<Client & { readonly id: string }> {
  const { id, secret } = await storeOperatorKey(orm.em.fork(), 'Our app', null);
  return { ...clientFor(url, '', secret), id };
}
