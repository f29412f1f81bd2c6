import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { EngineObservation, EngineSpec, ProvisionResult } from '../../../src/ports/model-runtime.ts'
import { listen } from '../../support/listen.ts'
import { makeOffer } from '../../support/scripted-runtime.ts'
import { toFastTime } from './to-fast-time.ts'
import type { FastTime } from './to-fast-time.ts'

/**
 * Who held which hardware when, as the hardware itself knows it. Times are milliseconds since 1970 in fast
 * time.
 */
export interface Holding {
  readonly engineId: string
  readonly deploymentId: string
  /** A GPU such as `slot-1`, or a half of it, `slot-1/2` */
  readonly slot: string
  readonly instanceType: string
  readonly from: number
  /** When the engine was first said to be ready */
  readyAt: number | null
  /** How often an engine was started on it, and how often one was stopped that worked */
  starts: number
  needlessStops: number
  /** When its engine was dead; `until` is infinite while it is */
  readonly outages: { from: number; until: number }[]
  /** What its engines have answered */
  readonly served: Usage
  /** When Berth began to give the hardware back, and when it was free */
  returnedAt: number | null
  until: number | null
}

/** Requests and their tokens */
export interface Usage {
  requests: number
  inputTokens: number
  outputTokens: number
}

export const nothingUsed: Usage = { requests: 0, inputTokens: 0, outputTokens: 0 }

interface Engine {
  holding: Holding
  readyAt: number
  freeAt: number
  isBroken: boolean
  responses: Set<ServerResponse>
}

/** A whole place, and half of one */
export const instanceTypes = ['small', 'small/2'] as const

/** The halves of a place that a slot consists of */
export function listHalves(slot: string): string[] {
  return slot.includes('/') ? [slot] : [`${slot}/1`, `${slot}/2`]
}

/**
 * Simulated hardware with so many places, given whole or in halves, and the engines on it. Server processes
 * reach it over HTTP (`remote-runtime.ts`). Its record is independent of Berth's ledger.
 */
export class Hardware {
  readonly record: Holding[] = []
  /** Refuses everything while it is true */
  isFull = false
  readonly #time: FastTime
  readonly #random: () => number
  readonly #slots: string[]
  readonly #engines = new Map<string, Engine>()
  readonly #server = createServer()
  url = ''

  constructor(places: number, time: FastTime, random: () => number) {
    this.#time = time
    this.#random = random
    this.#slots = Array.from({ length: places }, (_, index) => `slot-${index + 1}`)
  }

  async open(): Promise<void> {
    this.#server.on('request', (request, response: ServerResponse) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        const [, kind, name] = request.url!.split('/')
        if (kind === 'engines') return void this.#serve(name!, request.url!, response)
        const [argument] = JSON.parse(Buffer.concat(pieces).toString())
        response.end(JSON.stringify(this.#call(name!, argument) ?? null))
      })
    })
    this.url = `http://127.0.0.1:${await listen(this.#server)}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }

  get now(): number {
    return toFastTime(Date.now(), this.#time)
  }

  /** Kills the engine of a deployment. Its hardware stays. */
  breakEngine(deploymentId: string): boolean {
    const engine = [...this.#engines.values()].find(
      ({ holding, isBroken }) =>
        holding.deploymentId === deploymentId && holding.readyAt !== null && !isBroken,
    )
    if (engine === undefined) return false
    this.#stop(engine)
    engine.holding.outages.push({ from: this.now, until: Infinity })
    return true
  }

  /** Whether an engine of the deployment was dead at some time between these. */
  wasBroken(deploymentId: string, from: number, until: number): boolean {
    return this.record.some(
      (holding) =>
        holding.deploymentId === deploymentId &&
        holding.outages.some((outage) => outage.from < until && outage.until > from),
    )
  }

  /** The engines of a deployment, with times in milliseconds after another one. */
  describe(deploymentId: string, since: number): object[] {
    const after = (at: number | null) => (at === null ? null : Math.round(at - since))
    return this.record
      .filter((holding) => holding.deploymentId === deploymentId && (holding.until ?? Infinity) > since)
      .map(({ readyAt, returnedAt, starts, needlessStops }) => ({
        readyAt: after(readyAt),
        returnedAt: after(returnedAt),
        starts,
        needlessStops,
      }))
  }

  #call(method: string, argument: unknown): unknown {
    switch (method) {
      case 'listOffers':
        return [makeOffer('small'), makeOffer('small/2', { memoryBytes: 4 * 2 ** 30, shares: 2 })]
      case 'provision':
        return this.#provision(argument as EngineSpec)
      case 'ensureEngine':
        return this.#ensureEngine((argument as EngineSpec).engineId)
      case 'observeEngine':
        return this.#observe(argument as string)
      case 'stopEngine':
        return this.#stopEngine(argument as string)
      case 'release':
        return this.#release(argument as string)
      case 'listEngineIds':
        return [...this.#engines.keys()]
      default:
        throw new Error(`unknown method ${method}`)
    }
  }

  #provision({ engineId, deploymentId, instanceType }: EngineSpec): ProvisionResult {
    const known = this.#engines.get(engineId)
    const taken = new Set([...this.#engines.values()].flatMap(({ holding }) => listHalves(holding.slot)))
    const places = instanceType === 'small' ? this.#slots : this.#slots.flatMap(listHalves)
    const slot = places.find((each) => listHalves(each).every((half) => !taken.has(half)))
    if (known === undefined && (slot === undefined || this.isFull)) {
      return { outcome: 'refused', code: 'no_capacity', message: 'All places are taken.' }
    }
    const { holding } = known ?? this.#hold({ engineId, deploymentId, instanceType, slot: slot! })
    const startedAt = new Date(holding.from)
    const instance = {
      instanceId: holding.slot,
      clusterId: 'c',
      gpuAllocationId: holding.slot,
      region: 'here',
    }
    return { outcome: 'provisioned', instance: { ...instance, startedAt } }
  }

  #hold(given: Pick<Holding, 'engineId' | 'deploymentId' | 'instanceType' | 'slot'>): Engine {
    const holding: Holding = {
      ...given,
      from: this.now,
      readyAt: null,
      starts: 0,
      needlessStops: 0,
      outages: [],
      served: { ...nothingUsed },
      returnedAt: null,
      until: null,
    }
    this.record.push(holding)
    const engine: Engine = {
      holding,
      readyAt: Infinity,
      freeAt: Infinity,
      isBroken: false,
      responses: new Set(),
    }
    this.#engines.set(given.engineId, engine)
    return engine
  }

  #ensureEngine(engineId: string): EngineObservation {
    const engine = this.#engines.get(engineId)
    if (engine === undefined) throw new Error(`engine ${engineId} has no hardware`)
    if (engine.readyAt === Infinity) {
      engine.readyAt = this.now + 200 + this.#random() * 3_000
      engine.holding.starts += 1
      const outage = engine.holding.outages.at(-1)
      if (outage !== undefined) outage.until = Math.min(outage.until, engine.readyAt)
    }
    return this.#observe(engineId)
  }

  #observe(engineId: string): EngineObservation {
    const engine = this.#engines.get(engineId)
    if (engine === undefined || engine.readyAt === Infinity || engine.holding.returnedAt !== null) {
      return { phase: 'absent' }
    }
    if (engine.isBroken) {
      return { phase: 'failed', stage: 'runtime', code: 'engine_crashed', message: 'The engine was killed.' }
    }
    if (engine.readyAt > this.now) return { phase: 'starting', message: 'The engine starts.' }
    engine.holding.readyAt ??= this.now
    return { phase: 'ready', endpoint: { baseUrl: `${this.url}/engines/${engineId}` } }
  }

  #stop(engine: Engine): void {
    engine.isBroken = true
    for (const response of engine.responses) response.destroy()
  }

  #stopEngine(engineId: string): boolean {
    const engine = this.#engines.get(engineId)
    if (engine !== undefined) {
      if (!engine.isBroken && engine.readyAt !== Infinity) engine.holding.needlessStops += 1
      this.#stop(engine)
      engine.isBroken = false
      engine.readyAt = Infinity
    }
    return true
  }

  #release(engineId: string): boolean {
    const engine = this.#engines.get(engineId)
    if (engine === undefined) return true
    if (engine.holding.returnedAt === null) {
      engine.holding.returnedAt = this.now
      engine.freeAt = this.now + (this.#random() < 0.5 ? 0 : this.#random() * 2_000)
      this.#stop(engine)
    }
    if (engine.freeAt > this.now) return false
    engine.holding.until = this.now
    this.#engines.delete(engineId)
    return true
  }

  async #serve(engineId: string, url: string, response: ServerResponse): Promise<void> {
    const engine = this.#engines.get(engineId)
    const isReady = engine !== undefined && !engine.isBroken && engine.readyAt <= this.now
    if (!isReady) return void response.destroy()
    if (!url.endsWith('/chat/completions')) return void response.writeHead(404).end()
    engine.responses.add(response)
    await delay((this.#random() * 1_500) / this.#time.factor)
    engine.responses.delete(response)
    if (response.destroyed) return
    const { served } = engine.holding
    const usage = {
      prompt_tokens: 1 + Math.floor(this.#random() * 1_000),
      completion_tokens: 1 + Math.floor(this.#random() * 1_000),
    }
    served.requests += 1
    served.inputTokens += usage.prompt_tokens
    served.outputTokens += usage.completion_tokens
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ message: { content: 'Hello' } }], usage }))
  }
}
