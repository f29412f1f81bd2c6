import { vi } from 'vitest'
import type { AdmissionRequest } from '../../src/features/inference/waiting/admission.ts'
import type { TestServer } from './server.ts'

interface AdmissionEvent {
  event: 'arrived' | 'sent' | 'ended'
  userId: number
  request: AdmissionRequest
}

/** Returns a list that grows with the requests that the server gets and sends to engines, in order. */
export function watchAdmission({ application }: TestServer): AdmissionEvent[] {
  const { admission } = application.inference
  const log: AdmissionEvent[] = []
  const [arrive, release] = [admission.request.bind(admission), admission.release.bind(admission)]
  vi.spyOn(admission, 'request').mockImplementation((request) => {
    const { userId } = request
    log.push({ event: 'arrived', userId, request })
    const admit = request.admit.bind(request)
    request.admit = (target) => {
      log.push({ event: 'sent', userId, request })
      admit(target)
    }
    arrive(request)
  })
  vi.spyOn(admission, 'release').mockImplementation((request, target) => {
    log.push({ event: 'ended', userId: request.userId, request })
    release(request, target)
  })
  return log
}
