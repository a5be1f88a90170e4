import type { ExecutionContext } from 'ava';
import type { Cues } from '../parts/cues.ts';
import type { Journal } from '../parts/journal.ts';
import { isPlayed, type Platform, factsOf } from '../plan/platforms.ts';
import type { ChannelPlan } from '../plan/post-plan.ts';
import { networkLine, type NetworkLine, type Storm } from './network-line.ts';
import type { PlannedFaults } from './planned-faults.ts';
import type { PlannedRefreshes, SeenRefresh } from './refreshes.ts';
import type { RealNetworks } from './real-networks.ts';
import { startPlayedServer, type PlayedServer } from './sandbox-server.ts';
import type { LinePlatform } from './line-platform.ts';

/** A line to a network that the sandbox plays. Each account has a server of its own, named like the line. */
const playedLine = (platform: Platform, account: string): LinePlatform => ({
  ...factsOf(platform).wire(),
  platform,
  accountOf: () => account,
});

/** A line to the real server of all accounts of a network. */
function realLine(platform: Platform): LinePlatform {
  const { wire, realAccountOf } = factsOf(platform);
  if (!realAccountOf) {
    throw new Error(`The sandbox plays ${platform}.`);
  }

  return { ...wire(), platform, accountOf: realAccountOf };
}

/** The proxy between the product and a channel's server, and that server if it is a sandbox. */
export type ChannelLine = NetworkLine & { readonly played: PlayedServer | null };

/** The lines to all accounts. Accounts on a real server share two lines, one of which hangs and breaks now and then. */
export type Lines = {
  /** The line of the channel with this number. */
  of(channel: number): ChannelLine;
  /** The lines to a network's accounts that hang and break now and then. */
  frail(platform: Platform): readonly NetworkLine[];
  readonly all: readonly NetworkLine[];
  /** Refreshes of all channels with grants, in the order of their responses. */
  readonly refreshes: readonly SeenRefresh[];
};

export type LinesOptions = {
  /** The folder in which the sandboxes store their posts. */
  readonly folder: string;
  readonly faults: PlannedFaults;
  readonly refreshFaults: PlannedRefreshes;
  readonly journal: Journal;
  readonly cues: Cues;
  readonly killWorker: (name: string) => void;
};

type PlayedOptions = LinesOptions & {
  readonly storm: Storm;
  readonly refreshes: SeenRefresh[];
};

/** Starts a sandbox for one channel, and the line to it. */
async function openPlayed(
  t: ExecutionContext,
  platform: Platform,
  channel: number,
  { folder, refreshFaults, refreshes, ...watched }: PlayedOptions,
): Promise<ChannelLine> {
  const name = `${platform}-${channel}`;
  const played = await startPlayedServer(t, platform, { folder, name });
  const line = await networkLine(t, {
    ...playedLine(platform, name),
    ...watched,
    refreshes: { channel, faults: refreshFaults, order: played.order, seen: refreshes },
    server: { url: played.url, isAtLine: true },
    ...(isPlayed(platform) && { slowDown: () => played.order('slow') }),
  });
  return { ...line, played };
}

/** Opens a line for each channel, with its own sandbox where the network is played. */
export async function openLines(
  t: ExecutionContext,
  networks: RealNetworks,
  channels: readonly ChannelPlan[],
  options: LinesOptions,
): Promise<Lines> {
  const { folder, refreshFaults, ...watched } = options;
  const refreshes: SeenRefresh[] = [];
  const storms = new Map<string, Storm>();
  const shared = new Map<string, NetworkLine>();
  const open = async (plan: ChannelPlan, channel: number): Promise<ChannelLine> => {
    const group = `${plan.platform}${plan.isFrail ? ' frail' : ''}`;
    const storm = storms.get(group) ?? { untilMs: 0 };
    storms.set(group, storm);
    const { platform, isTried } = plan;
    if (isPlayed(platform) || isTried) {
      const given = { ...watched, storm, refreshFaults, refreshes, folder };
      return openPlayed(t, platform, channel, given);
    }

    const server = { url: networks.of(platform).url, isAtLine: false };
    const line =
      shared.get(group) ??
      (await networkLine(t, { ...realLine(platform), ...watched, storm, server }));
    shared.set(group, line);
    return { ...line, played: null };
  };

  const lines: ChannelLine[] = [];
  for (const [channel, plan] of channels.entries()) {
    lines.push(await open(plan, channel));
  }
  const byUrl = new Map(lines.map((line) => [line.url, line]));
  return {
    of: (channel) => {
      const line = lines[channel];
      if (!line) {
        throw new Error(`Channel ${channel} does not exist.`);
      }
      return line;
    },
    frail: (platform) => {
      const own = lines.filter((_, channel) => {
        const plan = channels[channel];
        return plan?.isFrail && plan.platform === platform;
      });
      return [...new Map(own.map((line) => [line.url, line])).values()];
    },
    all: [...byUrl.values()],
    refreshes,
  };
}
