// A server process with remote hardware, whose time runs faster (fast-time.ts). It tells its parent when it
// works.
import { readConfig } from '../../../src/config/config.ts'
import { createLog } from '../../../src/base/log.ts'
import { buildServer } from '../../../src/process/server.ts'
import { startWorker } from '../../../src/process/worker.ts'
import { createApplication } from '../../../src/wiring/create-application.ts'
import { changeConfig } from '../../support/change-config.ts'
import { openRemoteRuntime } from './remote-runtime.ts'

const config = changeConfig(readConfig(process.env), {
  scaleDownMilliseconds: 4_000,
  inference: { limits: { queuedPerUser: 2_000, queueMilliseconds: 120_000 } },
})
const application = await createApplication(config, {
  log: createLog({ level: 'warn' }, (line) => void process.stdout.write(line)),
  clock: () => new Date(),
  runtime: openRemoteRuntime(process.env['HARDWARE_URL']!),
})
if (application.config.role === 'worker') await startWorker(application)
else {
  const app = await buildServer(application)
  await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) })
}
process.send!('works')
