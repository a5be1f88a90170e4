import { allRoutes } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { createDocument } from '../../api/openapi/create-document.ts';
import type { Document } from './contract.ts';

/**
 * The document as the code has it, which allows no field that it does not name; what is published is milder
 * (`api/openapi/open-answers.ts`). No call is made, so nothing of the dependencies is needed.
 */
export const ourDocument = (): Document =>
  JSON.parse(JSON.stringify(createDocument(allRoutes({} as ApiDeps)))) as Document;
