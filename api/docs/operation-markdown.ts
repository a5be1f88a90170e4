import type { Json } from '../openapi/document.ts';
import type { Schema } from '../openapi/example-of.ts';

type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly examples?: Readonly<Record<string, Example>> }>
>;
type Example = { readonly value: unknown };
type Answer = { readonly $ref?: string; readonly description: string; readonly content?: Content };

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[];
};

/** How deep the fields of a body are listed. */
const mostLevels = 3;

/** Describes a call in Markdown. @param call Such as `POST /posts`. @param components Of the document. */
export function operationMarkdown(call: string, operation: Operation, components: Json): string {
  const follow = <Part extends { readonly $ref?: string }>(part: Part): Part => {
    const [, , kind = '', name = ''] = part.$ref?.split('/') ?? [];
    return (components[kind] as Readonly<Record<string, Part>> | undefined)?.[name] ?? part;
  };

  const typeOf = (given: Schema): string => {
    const { anyOf, enum: values, items, type = 'object', format } = follow(given);
    if (anyOf) {
      return anyOf.map(typeOf).join(' or ');
    }

    return values
      ? values.map((value) => JSON.stringify(value)).join(', ')
      : items
        ? `list of ${typeOf(items)}`
        : (format ?? [type].flat().join(' or '));
  };

  const fieldsOf = (given: Schema, level = 0): string[] => {
    const schema = follow(given);
    const { properties, required = [] } = schema;
    const inner = schema.items ?? schema.anyOf?.find((one) => follow(one).properties);
    if (!properties) {
      return inner ? fieldsOf(inner, level) : [];
    }

    return Object.entries(properties).flatMap(([name, field]) => {
      const { description = '' } = { ...follow(field), ...field };
      const must = required.includes(name) ? ', required' : '';
      const line = `${'  '.repeat(level)}- \`${name}\` (${typeOf(field)}${must}): ${description}`;
      return [line].concat(level + 1 < mostLevels ? fieldsOf(field, level + 1) : []);
    });
  };

  const [body] = Object.entries(operation.requestBody?.content ?? {});
  const answers = Object.entries(operation.responses).map(([status, one]) => [status, follow(one)]);
  return [
    `# ${operation.summary}`,
    `\`${call.replace(' ', ' /api/v1')}\``,
    operation.description ?? '',
    section(
      'Parameters',
      (operation.parameters ?? []).map(
        ({ name, in: place, required, description, schema }) =>
          `- \`${name}\` (${place}, ${typeOf(schema)}${required ? ', required' : ''}${defaultOf(schema)}): ${description}`,
      ),
    ),
    body ? section(`Body (${body[0]})`, fieldsOf(body[1].schema)) : '',
    '## Answers',
    ...(answers as [string, Answer][]).map(answerText),
    '## Samples',
    ...operation['x-codeSamples'].map(({ lang, source }) => fenced(lang.toLowerCase(), source)),
  ]
    .filter(Boolean)
    .join('\n\n');
}

const defaultOf = ({ default: value }: Schema): string =>
  value === undefined ? '' : `; default: ${JSON.stringify(value)}`;

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`;

const fenced = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

function answerText([status, { description, content = {} }]: readonly [string, Answer]): string {
  const examples = Object.entries(Object.values(content)[0]?.examples ?? {});
  const [[name = '', example] = []] = examples;
  if (!status.startsWith('2')) {
    // Several codes are listed in the description.
    return examples.length > 1
      ? `**${status}**\n\n${description}`
      : `**${status}** \`${name}\`: ${description}`;
  }

  return `**${status}** ${description}\n\n${fenced('json', JSON.stringify(example?.value, undefined, 2))}`;
}
