import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { nullable, record, text } from '../http/shared-schemas.ts';
import { settlements } from './call-examples.ts';
import { settled, settledAbsent } from './examples.ts';
import { settlePost } from './settle-post.ts';
import { postAnswer, showPost } from './show-post.ts';

type SettleBody = { readonly channel_id: string; readonly url: string | null };

const settleSchema = record({
  channel_id: { ...text, description: 'The channel that is unconfirmed.' },
  url: {
    ...nullable(text),
    description:
      'Where the post is, by http or https; of a thread, the part that was in doubt. Null: it is not there.',
  },
});

export const settleCall = (deps: ApiDeps): Route => ({
  method: 'post',
  path: '/posts/{id}/settle',
  operationId: 'settlePost',
  tag: 'Posts',
  summary: 'Say what became of an unconfirmed channel',
  description:
    'For a channel of which neither the network nor we can tell whether it has the post: look at the account, and say where it is or that it is not there. A channel that has it is published, or failed where parts of a thread are missing; one that does not have it is failed, with `not_published`, and a retry sends what is missing. The network may take a minute to write what it was asked for, so that `null` is refused until then. The address of another post of the channel is refused. A post that had ended ends anew, with a new event; one that was cancelled, and that every channel has now, ends as published. The same answer given again changes nothing.',
  body: settleSchema,
  bodyExamples: settlements,
  answers: {
    200: {
      description: 'The post as it stands now.',
      schema: postAnswer,
      examples: { settled, settledAbsent },
    },
  },
  errors: ['invalid_request', 'invalid_channel_ids', 'not_found', 'nothing_to_settle'],
  handle: async ({ caller: { workspaceId }, params: { id = '' }, body }) => {
    const { channel_id: channelId, url } = body as SettleBody; // Checked against settleSchema.
    await settlePost(deps, { workspaceId, postId: id }, { channelId, url });
    return { status: 200, body: await showPost(deps, workspaceId, id) };
  },
});
