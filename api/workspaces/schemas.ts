import {
  count,
  dateTime,
  fields,
  listOf,
  nullable,
  record,
  text,
  uuid,
} from '../../domain/json-schema.ts';
import { longestBrandText, type Brand } from '../../domain/brand.ts';
import { quotaNames, type QuotaName } from '../../domain/quotas.ts';
import { limitDescriptions } from '../workspace/routes.ts';
import { longestWorkspaceName, mostQuota } from '../../services/workspaces/write-workspaces.ts';

const ofEachQuota = <const S extends object>(schema: S) =>
  Object.fromEntries(
    quotaNames.map((name) => [name, { ...schema, description: limitDescriptions[name] }]),
  ) as Record<QuotaName, S>;

export const quotasSchema = record(ofEachQuota(count));

export const quotasEditSchema = fields(ofEachQuota({ ...nullable(count), maximum: mostQuota }));

const brandDescriptions: Readonly<Record<keyof Brand, string>> = {
  name: 'The name of your product, in place of "Punctual".',
  logo_url: 'The https address of its logo, the only thing that the pages load from another host.',
  color:
    'The colour of buttons, such as `#1f5fbf`. Their text is black or white, whichever contrasts more.',
  terms_url: 'The https address of its terms, linked at the foot.',
  privacy_url: 'The https address of its privacy policy, linked at the foot.',
};

const ofEachBrandField = <const S extends object>(schema: S) =>
  Object.fromEntries(
    Object.entries(brandDescriptions).map(([name, description]) => [
      name,
      { ...schema, description },
    ]),
  ) as Record<keyof Brand, S>;

export const workspaceSchema = record({
  id: uuid,
  name: { ...nullable(text), description: 'Its name, for people.' },
  plan: {
    ...nullable(text),
    description:
      'All plans are equal. Without one, posts cannot be created, changed or retried; scheduled posts are still published.',
  },
  quotas: { ...quotasSchema, description: 'The limits in force.' },
  brand: {
    ...record(ofEachBrandField(nullable(text))),
    description:
      'Its brand on the pages of links. A null field has the value of the settings of the service.',
  },
  channels: { ...count, description: 'How many channels are connected.' },
  created_at: dateTime,
  deleted_at: {
    ...nullable(dateTime),
    description: 'When it was deleted. It is shown until all of its rows are gone.',
  },
});

export const workspaceAnswer = record({ workspace: workspaceSchema });

export const workspaceListSchema = record({
  workspaces: listOf(workspaceSchema),
  next_cursor: { ...nullable(text), description: 'Null at the end of the list.' },
});

const given = {
  name: { ...text, minLength: 1, maxLength: longestWorkspaceName, description: 'For people.' },
  plan: {
    ...nullable(text),
    maxLength: 50,
    description: 'A word of lower-case letters, digits and hyphens; null for none.',
  },
  quotas: {
    ...quotasEditSchema,
    description: 'Only the given limits change; null returns to the default.',
  },
  brand: {
    ...nullable(fields(ofEachBrandField({ ...nullable(text), maxLength: longestBrandText }))),
    description:
      'What the pages of links show. Only the given fields change; a null field returns to the settings of the service, and null returns all.',
  },
};

export const createWorkspaceSchema = fields(given, ['name']);

export const editWorkspaceSchema = fields({ ...given });
