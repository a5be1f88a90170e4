import type { ApiDeps } from '../deps.ts';
import { route, type Route } from '../http/route.ts';
import { chooseChannels } from '../posts/choose-channels.ts';
import { describeNetwork } from './describe-network.ts';
import { networkExamples } from './examples.ts';
import { networksAnswer, networksQuery, type NetworkView } from './schemas.ts';

export const networkRoutes = (deps: ApiDeps): Route[] => [
  route({
    method: 'get',
    path: '/networks',
    operationId: 'listNetworks',
    tag: 'Channels',
    summary: 'The limits and options of each network',
    description:
      'Limits of texts and files, and the options of each network, as `POST /posts/validate` applies them. If servers of a network differ, these are the usual limits; with `channel_id`, those of the account’s server.',
    query: networksQuery,
    answers: {
      200: {
        description: 'All networks, or the channel’s network.',
        schema: networksAnswer,
        examples: networkExamples,
      },
    },
    errors: ['invalid_request', 'invalid_channel_ids'],
    handle: async ({ caller: { workspaceId }, query: { channel_id: id } }) => ({
      status: 200,
      body: {
        networks: id === undefined ? all(deps) : await ofChannel(deps, workspaceId, id),
      },
    }),
  }),
];

const all = ({ rules, networks }: ApiDeps): NetworkView[] =>
  Object.entries(rules).map(([platform, own]) =>
    describeNetwork(platform, { rules: own, oauth: networks.oauth[platform] }, {}),
  );

/** @throws AppError `invalid_channel_ids` */
async function ofChannel(
  { orm, rules, networks }: ApiDeps,
  workspaceId: string,
  id: string,
): Promise<NetworkView[]> {
  const channels = await chooseChannels(orm.em.fork(), workspaceId, [id], '?channel_id');
  return channels.flatMap(({ platform, settings }) => {
    const own = rules[platform];
    const oauth = networks.oauth[platform];
    return own ? [describeNetwork(platform, { rules: own, oauth }, settings)] : [];
  });
}
