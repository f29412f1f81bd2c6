import { measureWeightCache } from '../features/deployments/serving/weight-cache-metrics.ts'
import { measureFleet } from '../features/operators/fleet-metrics.ts'
import { measureGpus } from '../features/operators/gpu-metrics.ts'
import { measureOperations } from '../features/operators/operations-metrics.ts'
import type { App } from '../http/app.ts'
import { healthRoutes } from '../http/health.ts'
import { measureRequests } from '../http/metrics.ts'
import { watchStorage } from '../http/storage.ts'
import type { Application } from '../wiring/application.ts'
import { announceShutdown, createHttpServer } from './server.ts'

/** Builds the HTTP server of a process that runs only the worker: `/healthz`, `/readyz` and `/metrics`. */
export async function buildWorkerServer(application: Application): Promise<App> {
  const app = createHttpServer(application)
  announceShutdown(app)
  watchStorage(app, application.config.dataDirectory)
  await measureRequests(app, { exposed: 'everybody' })
  measureOperations(app.metrics, application)
  measureFleet(app.metrics, application)
  measureGpus(app.metrics, application)
  measureWeightCache(app.metrics, application.runtimes)
  healthRoutes(app, application)
  return app
}
