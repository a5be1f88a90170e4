import { Router } from '@koa/router';
import { Ajv } from 'ajv';
import { readBody } from './body.ts';
import { directiveNames, isDirective } from './directives.ts';
import { Refusal } from './refusal.ts';
import { networks } from './registry.ts';
import type { Script } from './script.ts';

type Call = {
  readonly platform: string;
  readonly directive: string;
  readonly count?: number;
  readonly reason?: string;
};

const ajv = new Ajv();
const isCall = ajv.compile<Call>({
  type: 'object',
  additionalProperties: false,
  required: ['platform', 'directive'],
  properties: {
    platform: { type: 'string' },
    directive: { type: 'string' },
    count: { type: 'integer', minimum: 0, maximum: 1_000_000 },
    reason: { type: 'string', minLength: 1, maxLength: 300 },
  },
});

/**
 * The same as directives in a text, for those who cannot change the text: `POST /control` with
 * `{"platform": "x", "directive": "lost", "count": 1}`. `GET` shows what is set, `DELETE` takes all of it back.
 */
export function controlRoutes(script: Script): Router {
  const router = new Router();
  const show = () => ({
    platforms: networks.map(({ id }) => id),
    directives: directiveNames,
    set: script.orders().map(({ network, directive, count, reason }) => ({
      platform: network,
      directive,
      count,
      reason,
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
    try {
      // A page of somebody else's cannot send this type without being asked first.
      if (!ctx.is('application/json')) {
        throw new Refusal(415, 'A control call is JSON.');
      }
      script.set(orderOf(await readBody(ctx.req)));
      ctx.body = show();
    } catch (error) {
      if (!(error instanceof Refusal)) {
        throw error;
      }
      ctx.status = error.status;
      ctx.body = { error: error.message };
    }
  });
  return router;
}

/** @throws Refusal 400 that says what is wrong. */
function orderOf(call: unknown) {
  if (!isCall(call)) {
    throw new Refusal(400, `The call ${ajv.errorsText(isCall.errors, { dataVar: 'body' })}.`);
  }
  const { platform: network, directive, count = 1, reason } = call;
  if (!networks.some(({ id }) => id === network)) {
    const known = networks.map(({ id }) => id).join(', ');
    throw new Refusal(400, `There is no platform "${network}". There are: ${known}.`);
  }
  if (!isDirective(directive)) {
    const known = directiveNames.join(', ');
    throw new Refusal(400, `There is no directive "${directive}". There are: ${known}.`);
  }
  return { network, directive, count, reason };
}
