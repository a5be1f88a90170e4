import { connectChannel } from '../../../services/channels/connect-channel.ts';
import { Channel } from '../../../db/entities/channels.ts';
import type { PostView } from '../../../domain/post-view.ts';
import type { SharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

/** A workspace with two channels; `gone` is to be disconnected. */
export async function twoChannels(api: SharedApi) {
  const client = await api.newClient();
  const { workspaceId } = client;
  const gone = await storeChannel(api.punctual, workspaceId, { handle: '@gone@social.test' });
  const stays = await storeChannel(api.punctual, workspaceId, { handle: '@stays@social.test' });
  const make = async (channel_ids: readonly string[], more: object = { schedule_in_minutes: 60 }) =>
    String((await client.post('/posts', { body: 'x', channel_ids, ...more })).body.post.id);
  const show = async (id: string): Promise<PostView> =>
    (await client.get(`/posts/${id}`)).body.post;
  const events = () =>
    api.punctual.orm.em
      .fork()
      .execute<{ body: string }[]>(
        `select body from events where workspace_id = ? and type = 'channel.disconnected'`,
        [workspaceId],
      );
  return {
    client,
    gone,
    stays,
    make,
    show,
    disconnect: () => client.delete(`/channels/${gone}`),
    /** Connects the account of the disconnected channel again. */
    connectAgain: async () => {
      const em = api.punctual.orm.em.fork();
      const { platform, baseUrl, remoteId } = await em.findOneOrFail(Channel, gone);
      const account = { baseUrl, remoteId, handle: '@new@social.test', settings: {} };
      const secrets = { credentials: { accessToken: 'new' }, session: null };
      const { sealer } = api.punctual.deps;
      return connectChannel(em, sealer, workspaceId, platform, { ...account, ...secrets });
    },
    told: async () => (await events()).map(({ body }) => JSON.parse(body).data),
  };
}

export const channelsOf = ({ channels }: PostView): string[] =>
  channels.map((channel) => channel.channel_id);
