import { createOperatorKey } from '../../cli/admin/operator-keys.ts';
import { clientFor, type Client } from './client.ts';
import type { Punctual } from './punctual.ts';

/** Creates an operator key, and a client for it, which acts in no workspace. */
export async function newOperator({
  orm,
  url,
}: Punctual): Promise<Client & { readonly id: string }> {
  const deps = { em: orm.em.fork(), now: () => new Date() };
  const { data } = await createOperatorKey(deps, { NAME: 'Our app' });
  const { id, operator_key: key } = data as { readonly id: string; readonly operator_key: string };
  return { ...clientFor(url, '', key), id };
}
