import { sql } from 'kysely';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { hashApiKey, newOperatorKey } from '../../runtime/secrets.ts';
import { readExpiry } from '../../services/keys/write-keys.ts';
import { UsageError } from '../failures.ts';
import { text } from '../flags.ts';
import { beginning, tableOf } from '../table.ts';
import { adminCommand } from './command.ts';

type Row = {
  readonly id: string;
  readonly last_four: string;
  readonly name: string;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
};

const columns = sql`id, last_four, name, created_at, last_used_at, expires_at, revoked_at`;

const create = adminCommand({
  brief:
    'Creates a key that manages workspaces by the API (/workspaces) and reads nothing in them; it is shown only now',
  args: { name: 'For people' },
  flags: { expires: text('When it expires', 'TIME') },
  run: async ({ em, now }, { name: given, expires }) => {
    const name = beginning(given, 200);
    if (name === '') {
      throw new UsageError('The name of an operator key must not be blank.');
    }

    const expiresAt = readExpiry(expires ?? null, now());
    const { id, secret } = await storeOperatorKey(em, name, expiresAt);
    return {
      text: `Operator key ${id} (${name}), shown this once: ${secret}\nIt creates, changes and deletes workspaces and creates keys in them. Store it like the database's password.`,
      data: { id, name, expires_at: expiresAt, operator_key: secret },
    };
  },
});

/** Only its hash is stored. */
export async function storeOperatorKey(em: Em, name: string, expiresAt: Date | null) {
  const [id, secret] = [newId(), newOperatorKey()];
  await query(
    em,
    sql`insert into operator_keys (id, name, hash, last_four, expires_at, created_at)
      values (${id}, ${name}, ${hashApiKey(secret)}, ${secret.slice(-4)}, ${expiresAt}, now())`,
  );
  return { id, secret };
}

const list = adminCommand({
  brief: 'Lists the operator keys',
  run: async ({ em }) => {
    const rows = await query(
      em,
      sql<Row>`select ${columns} from operator_keys order by created_at, id`,
    );
    const keys = rows.map(present);
    const times = ['created_at', 'last_used_at', 'expires_at', 'revoked_at'] as const;
    return {
      text: tableOf(keys, ['id', 'last_four', 'name', ...times]),
      data: { operator_keys: keys },
    };
  },
});

const revoke = adminCommand({
  brief: 'Revokes an operator key, in every process from the next call on',
  args: { keyId: 'As "operator-key list" shows it' },
  run: async ({ em }, { keyId: id }) => {
    const [row] = isId(id)
      ? await query(
          em,
          sql<Row>`update operator_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id}
            returning ${columns}`,
        )
      : [];
    if (!row) {
      // Without the given text, which may be the key itself.
      const message =
        'There is no operator key with this id; "npm run admin -- operator-key list" shows the ids.';
      throw new AppError('not_found', message);
    }

    const key = present(row);
    return {
      text: `Operator key ${id} (…${key.last_four}) is revoked since ${key.revoked_at}`,
      data: { operator_key: key },
    };
  },
});

export const operatorKeys = { create, list, revoke };

/** As JSON has it: with times as text. */
const present = (row: Row) => ({
  ...row,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});
