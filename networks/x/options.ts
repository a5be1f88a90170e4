import { answerReader } from '../answer.ts';
import type { Options, OptionsSchema } from '../content-rules.ts';
import type { CreatePost } from './wire.ts';

/** The names are X's own. Source: https://docs.x.com/x-api/posts/create-post */
export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    made_with_ai: {
      type: 'boolean',
      description: 'Labels every post of the thread as containing media made by AI.',
    },
    paid_partnership: {
      type: 'boolean',
      description: 'Labels every post of the thread as a paid partnership (advertising).',
    },
  },
};

type XOptions = Pick<CreatePost, 'made_with_ai' | 'paid_partnership'>;

const readOptions = answerReader<XOptions>(optionsSchema);

/** The request fields for the chosen options. */
export function optionFields(options: Options): XOptions {
  const { made_with_ai: isMadeWithAi, paid_partnership: isPaid } = readOptions(options) ?? {};
  return {
    ...(isMadeWithAi && { made_with_ai: true }),
    ...(isPaid && { paid_partnership: true }),
  };
}
