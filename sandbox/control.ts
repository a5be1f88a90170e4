import { Router } from '@koa/router';
import { Ajv, type ValidateFunction } from 'ajv';
import type { Context } from 'koa';
import { describeFault, listFaults } from '../runtime/parser.ts';
import { readRequestBody } from './body.ts';
import { accountNames, type AccountName } from './account-name.ts';
import { directiveNamed, directiveNames, neededBy } from './directives.ts';
import { Refusal } from './refusal.ts';
import { networks } from './registry.ts';
import type { Script } from './script.ts';

type Call = {
  readonly platform: string;
  readonly directive: string;
  readonly count?: number;
  readonly reason?: string;
  readonly seconds?: number;
  readonly account?: AccountName;
};

const ajv = new Ajv({ verbose: true });
const isCall = ajv.compile<Call>({
  type: 'object',
  additionalProperties: false,
  required: ['platform', 'directive'],
  properties: {
    platform: { type: 'string' },
    directive: { type: 'string' },
    count: { type: 'integer', minimum: 0, maximum: 1_000_000 },
    reason: { type: 'string', minLength: 1, maxLength: 300 },
    seconds: { type: 'integer', minimum: 1, maximum: 1_000_000_000 },
    account: { enum: accountNames },
  },
});

/**
 * Applies directives without changing a post's text: `POST /control` with
 * `{"platform": "x", "directive": "lost", "count": 1}`. `GET` lists the pending ones, `DELETE` removes all of them.
 * `revoke` and `expire` may name an `account`, `lifetime` has `seconds`.
 */
export function controlRoutes(script: Script): Router {
  const router = new Router();
  const show = () => ({
    platforms: networks.map(({ id }) => id),
    directives: directiveNames,
    set: script.orders().map(({ network, directive, count, reason, seconds }) => ({
      platform: network,
      directive,
      count,
      reason,
      seconds,
    })),
  });
  router.get('/control', (ctx) => {
    ctx.body = show();
  });
  router.delete('/control', (ctx) => {
    script.clear();
    ctx.body = show();
  });
  router.post('/control', async (ctx) => {
    await answerControl(ctx, (call) => {
      const { order, account } = orderOf(call);
      script.set(order, account);
      return show();
    });
  });
  return router;
}

/** Responds to a control call, with the reason when the call is invalid. @param answer Gets the call's body. */
export async function answerControl(
  ctx: Context,
  answer: (call: unknown) => object | Promise<object>,
): Promise<void> {
  try {
    // Another site's page cannot send this type without a CORS preflight.
    if (!ctx.is('application/json')) {
      throw new Refusal(415, 'A control call must be JSON (Content-Type: application/json).');
    }
    ctx.body = await answer(await readRequestBody(ctx.req));
  } catch (error) {
    if (!(error instanceof Refusal)) {
      throw error;
    }
    ctx.status = error.status;
    ctx.body = { error: error.message };
  }
}

/** A refusal that names the invalid fields of a call. */
export const unfit = (errors: ValidateFunction['errors']): Refusal =>
  new Refusal(400, `The call does not fit: ${listFaults((errors ?? []).map(describeFault))}`);

/** @throws Refusal 400 that explains the problem. */
function orderOf(call: unknown) {
  if (!isCall(call)) {
    throw unfit(isCall.errors);
  }
  const { platform: network, count = 1, reason, seconds, account } = call;
  const directive = directiveNamed(call.directive);
  if (!networks.some(({ id }) => id === network)) {
    const known = networks.map(({ id }) => id).join(', ');
    throw new Refusal(400, `There is no platform "${network}". There are: ${known}.`);
  }
  if (directive === undefined) {
    const known = directiveNames.join(', ');
    throw new Refusal(400, `There is no directive "${call.directive}". There are: ${known}.`);
  }
  const needed = neededBy(directive);
  const places = networks.filter(({ traits }) => needed === undefined || traits.includes(needed));
  if (!places.some(({ id }) => id === network)) {
    const known = places.map(({ id }) => id).join(', ');
    throw new Refusal(400, `"${directive}" does nothing on ${network}. It does on: ${known}.`);
  }
  if (count > 0 && (directive === 'lifetime') !== (seconds !== undefined)) {
    throw new Refusal(
      400,
      'The directive "lifetime" needs seconds, and other directives have none.',
    );
  }
  if (account !== undefined && directive !== 'revoke' && directive !== 'expire') {
    throw new Refusal(400, 'Only "revoke" and "expire" accept an account.');
  }
  return { order: { network, directive, count, reason, seconds }, account };
}
