import type { z } from 'zod'
import type { SandboxDatabase } from '../database.ts'
import type { PageLinks } from '../page-links.ts'
import type { Change } from '../store.ts'

/** Changes objects in one transaction and returns the object; idempotent by the caller's key. */
export interface WriteRoute<Schema extends z.ZodType = z.ZodType> {
  method: 'POST' | 'DELETE'
  path: string
  parameters: Schema
  run(change: Change, input: z.output<Schema>, id: string): Promise<object>
}

export interface ReadContext {
  db: SandboxDatabase
  links: PageLinks
}

export interface ReadRoute<Schema extends z.ZodType = z.ZodType> {
  path: string
  parameters: Schema
  run(context: ReadContext, input: z.output<Schema>, ids: { id: string; child: string }): Promise<object>
}

export function writeRoute<Schema extends z.ZodType>(
  method: WriteRoute['method'],
  path: string,
  parameters: Schema,
  run: WriteRoute<Schema>['run'],
): WriteRoute {
  return { method, path, parameters, run }
}

export function readRoute<Schema extends z.ZodType>(
  path: string,
  parameters: Schema,
  run: ReadRoute<Schema>['run'],
): ReadRoute {
  return { path, parameters, run }
}
