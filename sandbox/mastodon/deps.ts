import type { SandboxDeps } from '../deps.ts';
import type { Attachments } from './attachments.ts';

export type MastodonDeps = SandboxDeps & { readonly attachments: Attachments };
