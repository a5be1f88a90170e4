import { Client } from 'pg';
import type { DatabaseAddress } from './postgres.ts';

/** Punctual's role in the embedded database: its owner, but not a superuser. */
const role = 'punctual_app';

/** The database URL for Punctual's own processes. */
export const roleUrl = ({ port, database }: DatabaseAddress, rolePassword: string): string =>
  `postgresql://${role}:${rolePassword}@127.0.0.1:${port}/${database}`;

/**
 * Takes over relations that an earlier version created as superuser. Sequences owned by columns follow their tables.
 */
const reassignOwnership = `do $$
  declare relation regclass;
  begin
    for relation in
      select c.oid from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')
        and c.relowner <> '${role}'::regrole
        and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
    loop
      execute format('alter table %s owner to ${role}', relation);
    end loop;
  end $$`;

/**
 * Creates the role that the product connects as. It is not a superuser, so an injected statement can neither read files
 * nor start programs. Also takes over the tables that an earlier version created as superuser.
 *
 * @param superuserUrl The database's URL for the superuser of the cluster.
 * @param rolePassword Hexadecimal.
 */
export async function ensureRole(superuserUrl: string, rolePassword: string): Promise<void> {
  const client = new Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role]);
    if (rowCount === 0) {
      await client.query(`create role ${role}`);
    }

    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    await client.query(
      `alter role ${role} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password '${rolePassword}'`,
    );
    await client.query(
      `alter database ${client.escapeIdentifier(rows[0]?.name ?? '')} owner to ${role}`,
    );
    await client.query(reassignOwnership);
  } finally {
    await client.end();
  }
}
