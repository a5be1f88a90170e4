import { sql } from 'kysely';
import { newId } from '../../db/new-id.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import { hashApiKey, newOperatorKey } from '../../runtime/secrets.ts';
import { readExpiry } from '../../services/keys/write-keys.ts';
import { UsageError } from '../failures.ts';
import type { CommandAnswer, CommandDeps, Values } from './command.ts';
import { beginning, oneLine } from '../table.ts';
import { formatInstant } from './format.ts';

type Row = {
  readonly id: string;
  readonly name: string;
  readonly last_four: string;
  readonly expires_at: Date | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
};

const columns = sql`id, name, last_four, expires_at, created_at, last_used_at, revoked_at`;

/** Creates a key for `/workspaces`. Only its hash is stored. */
export async function createOperatorKey(
  { em, now }: Pick<CommandDeps, 'em' | 'now'>,
  { NAME: given = '', expires }: Values,
): Promise<CommandAnswer> {
  const name = beginning(given, 200);
  if (name === '') {
    throw new UsageError('The name of an operator key must not be blank.');
  }

  const expiresAt = readExpiry(expires ?? null, now());
  const key = newOperatorKey();
  const id = newId();
  await query(
    em,
    sql`insert into operator_keys (id, name, hash, last_four, expires_at, created_at)
      values (${id}, ${name}, ${hashApiKey(key)}, ${key.slice(-4)}, ${expiresAt}, now())`,
  );
  return {
    text: `Operator key ${id} (${name}), shown this once: ${key}\nIt creates, changes and deletes workspaces and creates keys in them. Store it like the database's password.`,
    data: { id, name, expires_at: formatInstant(expiresAt), operator_key: key },
  };
}

export async function listOperatorKeys({ em }: CommandDeps): Promise<CommandAnswer> {
  const rows = await query(
    em,
    sql<Row>`select ${columns} from operator_keys order by created_at, id`,
  );
  const keys = rows.map(present);
  const lines = keys.map(
    (key) =>
      `${key.id}  …${key.last_four}  ${oneLine(key.name)}  made ${key.created_at}  ${key.last_used_at ? `last used ${key.last_used_at}` : 'never used'}${key.expires_at ? `  expires ${key.expires_at}` : ''}${key.revoked_at ? `  revoked ${key.revoked_at}` : ''}`,
  );
  return { text: lines.join('\n') || 'There is no operator key.', data: { operator_keys: keys } };
}

/** Every process refuses the key from the next call on. @throws AppError `not_found`, without the given text. */
export async function revokeOperatorKey(
  { em }: CommandDeps,
  { KEY_ID: id = '' }: Values,
): Promise<CommandAnswer> {
  const [row] = isId(id)
    ? await query(
        em,
        sql<Row>`update operator_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id}
          returning ${columns}`,
      )
    : [];
  if (!row) {
    throw new AppError(
      'not_found',
      'There is no operator key with this id; "npm run admin -- operator-key list" shows the ids.',
    );
  }

  const key = present(row);
  return {
    text: `Operator key ${key.id} (…${key.last_four}) is revoked since ${key.revoked_at}`,
    data: { operator_key: key },
  };
}

const present = (row: Row) => ({
  ...row,
  expires_at: formatInstant(row.expires_at),
  created_at: row.created_at.toISOString(),
  last_used_at: formatInstant(row.last_used_at),
  revoked_at: formatInstant(row.revoked_at),
});
