import { Router } from '@koa/router';
import { Ajv } from 'ajv';
import { answerControl, unfit } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { figureNames, type FigureChange } from './figures.ts';
import { Refusal } from './refusal.ts';
import { networks } from './registry.ts';

type Call = {
  readonly platform: string;
  /** The post's id on its network. */
  readonly id?: string;
  readonly figures?: FigureChange;
  readonly gone?: boolean;
  readonly followers?: number | null;
};

const count = { type: ['integer', 'null'], minimum: 0, maximum: 1_000_000_000 };
const ajv = new Ajv({ allowUnionTypes: true, verbose: true });
const isCall = ajv.compile<Call>({
  type: 'object',
  additionalProperties: false,
  required: ['platform'],
  properties: {
    platform: { enum: networks.map(({ id }) => id) },
    id: { type: 'string' },
    figures: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(figureNames.map((name) => [name, count])),
    },
    gone: { type: 'boolean' },
    followers: count,
  },
});

/**
 * Sets the figures that a network returns for a post: `POST /control/figures` with
 * `{"platform": "x", "id": "19…", "figures": {"likes": 5, "impressions": null}}`; null hides a figure. `"gone": true`
 * deletes the post. Without an id, `followers` are those of the account, and null hides them.
 */
export function figureRoutes({ store, figures }: Pick<SandboxDeps, 'store' | 'figures'>): Router {
  const router = new Router();
  router.post('/control/figures', async (ctx) => {
    await answerControl(ctx, async (call) => {
      if (!isCall(call)) {
        throw unfit(isCall.errors);
      }
      const { platform, id, gone = false, followers } = call;
      if (followers !== undefined) {
        figures.setFollowers(platform, followers);
      }
      if (id === undefined) {
        return { followers: figures.followers(platform) };
      }
      const post = store.find(platform, id);
      if (post === undefined) {
        throw new Refusal(404, `There is no post "${id}" on ${platform}.`);
      }
      figures.change(post, call.figures ?? {});
      if (gone) {
        await store.remove(post);
      }
      return { gone, figures: figures.of(post) };
    });
  });
  return router;
}
