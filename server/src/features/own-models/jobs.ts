import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { sweepUploads } from './uploads/remove-upload.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Removes expired uploads of models, and files without an upload */
    'sweep-model-uploads': null
  }
}

export function ownModelJobs(deps: Pick<Services, 'db' | 'clock' | 'config' | 'modelStore'>): Job[] {
  return [{ name: 'sweep-model-uploads', cron: '*/10 * * * *', run: () => sweepUploads(deps) }]
}
