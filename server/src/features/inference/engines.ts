import { Agent } from 'undici'

/** Connections to the engines, and how many requests each deployment is working on now. */
export interface EngineConnections {
  agent: Agent
  inFlight: Map<string, number>
  close(): Promise<void>
}

const second = 1_000

/** Opens no connection by itself: 5 s to connect, 300 s to the first byte of an answer, 120 s between two pieces of it. */
export function openEngineConnections(): EngineConnections {
  const agent = new Agent({
    connect: { timeout: 5 * second },
    headersTimeout: 300 * second,
    bodyTimeout: 120 * second,
    keepAliveTimeout: 4 * second,
    pipelining: 1,
  })
  return { agent, inFlight: new Map(), close: () => agent.destroy() }
}
