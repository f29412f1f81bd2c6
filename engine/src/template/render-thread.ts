import { serveJobs } from '@berth/grammar/deadline-worker.ts'
import { rendersTooLong } from './render-once.ts'

serveJobs(rendersTooLong)
