import type { PostChannel } from '../../db/entities/post-channel.ts';
import type { Em } from '../../db/orm.ts';
import { textsForChannel } from '../../domain/texts.ts';
import type { Rules } from '../../networks/content-rules.ts';
import type { Judgement } from './judge-post.ts';
import type { PostContent } from './post-content.ts';

type LivePart = {
  channel_id: string;
  part: number;
  text: string;
  url: string | null;
  /** Whether the network may have it, and nobody knows yet. */
  is_open: boolean;
  /** Of the thread that it belongs to. */
  parts: number;
};

/**
 * Adds to the judgements where part of a thread is live already, and the edited post says something else there. That
 * part cannot be unsaid, and is not sent again, so the new text for it would never go out. The same holds for a part
 * that is being sent: when it lands, the rest of another thread would go below it.
 *
 * @param kept The post's channels before the edit that stay, by channel id.
 */
export async function keepLiveParts(
  em: Em,
  rules: Readonly<Record<string, Rules>>,
  kept: ReadonlyMap<string, PostChannel>,
  content: PostContent,
  judgements: readonly Judgement[],
): Promise<Judgement[]> {
  const rows = judgements.flatMap(({ channel }) => kept.get(channel.id) ?? []);
  const live = rows.length
    ? await em.execute<LivePart[]>(
        `select pc.channel_id, a.part, a.text, a.url, a.state <> 'sent' as is_open,
           (select count(*)::int from post_parts b where b.post_channel_id = a.post_channel_id
             and b.workspace_id = a.workspace_id and b.run = a.run) as parts
         from post_parts a join post_channels pc on pc.id = a.post_channel_id and pc.workspace_id = a.workspace_id
         where pc.id in (?) and pc.workspace_id = ? and a.state in ('sent', 'sending')
         order by a.part`,
        [rows.map(({ id }) => id), rows[0]?.workspaceId],
      )
    : [];
  return judgements.map((judgement) => {
    const { id, platform } = judgement.channel;
    const threads = rules[platform]?.threads ?? true;
    const texts = textsForChannel(content, content.overrides[id] ?? null, threads);
    const faults = live
      .filter((part) => part.channel_id === id && part.text !== texts[part.part])
      // A single post is a whole: where it lands nothing is missing, and where it does not the new text goes out.
      .filter(({ is_open: isOpen, parts }) => !isOpen || texts.length > 1 || parts > 1)
      .map(saysOtherwise);
    return { ...judgement, errors: [...judgement.errors, ...faults] };
  });
}

const saysOtherwise = ({ part, url, is_open: isOpen }: LivePart): string =>
  isOpen
    ? `Part ${part + 1} of the thread is being sent, so its text must stay as it is until that is over.`
    : `Part ${part + 1} of the thread is live (${url}), so its text must stay as it is.`;
