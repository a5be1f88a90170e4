import type { Content, AttachmentFacts, ValidationResult } from '../content-rules.ts';
import { validateFiles } from './files.ts';
import type { Limits } from './limits.ts';
import { mixtureFaults } from './mixture.ts';
import { validateTexts, wherePart, type TextFaults } from './texts.ts';

/** A network's rules beyond its limits. */
type OwnRules = {
  /** Checks a text that is neither blank nor too long. */
  readonly text?: TextFaults;
  /** Problems of a file beyond the limits of its kind, as sentences. */
  readonly fileErrors?: (file: AttachmentFacts) => readonly string[];
  /** What the network shows differently than expected, as sentences. */
  readonly fileWarnings?: (file: AttachmentFacts) => readonly string[];
};

/** Validates the texts and the files of each part by a network's limits. */
export function validateByLimits(
  content: Content,
  limits: Limits,
  { text, fileErrors = () => [], fileWarnings = () => [] }: OwnRules = {},
): ValidationResult {
  const { texts, errors, facts } = validateTexts(content, limits, text);
  const parts = Array.from({ length: Math.max(1, content.texts.length) }, (_, index) => {
    const media = content.media[index] ?? [];
    const where = wherePart(content.texts, index);
    const files = validateFiles(media, limits);
    const mixture = mixtureFaults(media, limits);
    const faults = [...mixture, ...files.errors, ...media.flatMap(fileErrors)];
    const count = { rule: 'file_count', limit: null, actual: media.length };
    const known = [...mixture.map((message) => Object.assign({ message }, count)), ...files.facts];
    const warnings = [...files.warnings, ...media.flatMap(fileWarnings)];
    return {
      errors: faults.map((fault) => where + fault),
      warnings: warnings.map((warning) => where + warning),
      facts: known.map((fact) => {
        const at = { part: index, of: 'files' } as const;
        return Object.assign({}, fact, { message: where + fact.message, at });
      }),
    };
  });
  return {
    texts,
    errors: [...errors, ...parts.flatMap((part) => part.errors)],
    warnings: parts.flatMap((part) => part.warnings),
    facts: [...facts, ...parts.flatMap((part) => part.facts)],
  };
}
