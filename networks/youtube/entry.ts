import type { Entry } from '../entry.ts';
import { rules } from './rules.ts';

export const youtube: Entry = () => ({ rules });
