import type { Router } from '@koa/router';
import { readFormFile } from '../body.ts';
import type { Attachment } from '../post.ts';
import { Refusal } from '../refusal.ts';
import { requireToken } from './authentication.ts';
import type { MastodonDeps } from './deps.ts';
import { notFound } from './not-found.ts';
import { baseOf, presentAttachment } from './present.ts';

/** Files come before their statuses. Both ways to bring one answer as soon as it is there: there is nothing to work on. */
export function addMediaRoutes(router: Router, { attachments }: MastodonDeps): void {
  for (const version of ['v1', 'v2']) {
    router.post(`/${version}/media`, requireToken, async (ctx) => {
      const file = await readFormFile(ctx.req);
      if (file === null) {
        throw new Refusal(422, "Validation failed: File can't be blank");
      }
      const attachment = await attachments.add(file.bytes, file.description);
      ctx.body = presentAttachment(attachment, baseOf(ctx));
    });
  }

  router.get('/v1/media/:id', requireToken, (ctx) => {
    const attachment: Attachment | undefined = attachments.find(ctx.params.id ?? '');
    if (attachment === undefined) {
      throw notFound();
    }
    ctx.body = presentAttachment(attachment, baseOf(ctx));
  });
}
