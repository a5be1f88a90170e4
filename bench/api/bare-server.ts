import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { json } from 'node:stream/consumers';
import Koa, { type Context } from 'koa';
import { Pool } from 'pg';
import { newId } from '../../db/new-id.ts';
import { fill, type Recipe, type Slot } from './recipe.ts';

// The baseline: Koa, `pg` and the product's own statements (with those that count calls), without checks and ORM. Runs as
// a process, with its settings in the environment.

type Recipes = { readonly read: Recipe; readonly create: Recipe };

const { read, create } = JSON.parse(
  await readFile(process.env['BENCH_RECIPES'] ?? '', 'utf8'),
) as Recipes;
// As many connections as the product: ten for the ORM, three for the checks before each call.
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 13 });

type Values = Partial<Record<Slot, string>>;

/**
 * Runs the statements in order, as the product does; a transaction needs one connection anyway. @returns the last rows.
 */
async function follow(recipe: Recipe, values: Values): Promise<unknown> {
  const valueOf = (slot: Slot): string => (values[slot] ??= newId());
  const client = await pool.connect();
  try {
    let last: unknown;
    for (const { text, values: templates, name } of recipe) {
      const filled = templates.map((template) => fill(template, valueOf));
      const query = { text, values: filled, ...(name === undefined ? {} : { name }) };
      const { rows } = await client.query<{ workspace_id?: string }>(query);
      values.workspace ??= rows[0]?.workspace_id ?? '';
      last = rows[0] ?? last;
    }

    return last;
  } finally {
    client.release();
  }
}

async function answer(ctx: Context): Promise<void> {
  const key = createHash('sha256').update(ctx.get('authorization').slice('Bearer '.length));
  const values: Values = { key: key.digest('hex'), now: new Date().toISOString() };
  if (ctx.method === 'GET') {
    const id = ctx.path.slice('/api/v1/posts/'.length);
    ctx.body = { post: await follow(read, { ...values, id }) };
  } else {
    const { body } = (await json(ctx.req)) as { body: string };
    ctx.body = { post: await follow(create, { ...values, body }) };
    ctx.status = 201;
  }
}

const app = new Koa();
app.use((ctx) => {
  if (ctx.path === '/healthz') {
    ctx.body = { ok: true };
    return;
  }

  return answer(ctx);
});
app.listen(Number(process.env['PORT']), process.env['HOST']);
