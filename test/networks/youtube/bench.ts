import type { ExecutionContext } from 'ava';
import type { youtube_v3 } from '@googleapis/youtube';
import type { Options } from '../../../networks/content-rules.ts';
import type { Account, Part } from '../../../networks/network.ts';
import { connectYoutube } from '../../../networks/youtube/connect.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../../sandbox/server.ts';
import { egressTo } from '../connection.ts';
import { playableVideo, type TestPartMedia } from '../files.ts';

export const videoOptions: Options = { title: 'A film', made_for_kids: false };

/** A sandbox of the test's own, with its channel connected. */
export async function openYoutube(t: ExecutionContext, options: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, ...options });
  t.teardown(() => sandbox.close());
  const baseUrl = `${sandbox.url}/youtube`;
  const login = { baseUrl, accessToken: 'demo' };
  const account: Account = await connectYoutube(egressTo(t, baseUrl), login);
  return { sandbox, account, look: looker(sandbox) };
}

/** The channel as another client sees it. */
function looker({ url }: Sandbox) {
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}/youtube/youtube/v3/${path}`, {
      headers: { authorization: 'Bearer demo' },
    });
    return (await response.json()) as T;
  };
  const uploads = async (): Promise<youtube_v3.Schema$Video[]> => {
    const list = 'playlistItems?part=snippet&maxResults=50&playlistId=UUsandboxDemoChannel0000';
    const { items = [] } = await get<youtube_v3.Schema$PlaylistItemListResponse>(list);
    const ids = items.map(({ snippet }) => snippet?.resourceId?.videoId ?? '').toReversed();
    if (ids.length === 0) {
      return [];
    }
    const { items: videos = [] } = await get<youtube_v3.Schema$VideoListResponse>(
      `videos?part=snippet,status&id=${ids.join(',')}`,
    );
    return videos;
  };
  const comments = async (videoId: string): Promise<youtube_v3.Schema$CommentThread[]> => {
    const { items = [] } = await get<youtube_v3.Schema$CommentThreadListResponse>(
      `commentThreads?part=snippet&videoId=${videoId}`,
    );
    return items.toReversed();
  };
  return { uploads, comments };
}

/** A post: a video, and under it a comment where a second text is given. */
export async function filmParts(
  texts: readonly string[],
  given: { readonly file?: TestPartMedia; readonly options?: Options } = {},
): Promise<Part[]> {
  const { file = await playableVideo(), options } = given;
  const run = crypto.randomUUID().slice(0, 18);
  return texts.map((text, index) => ({
    key: `${run}-${index}`,
    text,
    media: index === 0 ? [file] : [],
    options: { ...videoOptions, ...options },
  }));
}
