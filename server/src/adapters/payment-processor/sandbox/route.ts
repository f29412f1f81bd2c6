import type { z } from 'zod'
import type { Engine } from './engine.ts'
import type { SandboxError } from './errors.ts'
import type { Step } from './store.ts'

/** A route that changes something: one transaction, idempotent by the caller's key. */
export interface WriteRoute<Schema extends z.ZodType = z.ZodType> {
  method: 'POST' | 'DELETE'
  path: string
  parameters: Schema
  /** Answers 200 with the object */
  run(step: Step, input: z.output<Schema>, id: string): Promise<object | Refused>
}

export interface ReadRoute<Schema extends z.ZodType = z.ZodType> {
  path: string
  parameters: Schema
  run(engine: Engine, input: z.output<Schema>, ids: { id: string; child: string }): Promise<object>
}

/** A refusal that leaves its traces, such as a payment that was tried and failed: what was changed stays, the answer is 402. */
export class Refused {
  readonly error: SandboxError
  constructor(error: SandboxError) {
    this.error = error
  }
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
