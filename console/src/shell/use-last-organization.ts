import { useSuspenseQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { organizationQuery, useSession } from '../api/session.ts'
import { tabStorage } from '../browser.ts'

const key = 'organization'

export interface LastOrganization {
  id: number
  name: string
}

/** The organization that the tab showed before the current one, also before a reload; null if none. */
export function useLastOrganization(): LastOrganization | null {
  const { user } = useSession()
  const { data: current } = useSuspenseQuery(organizationQuery)
  const { id, name } = current
  const [shown, setShown] = useState(() => ({ id, last: readLast(user.id, id) }))
  if (shown.id !== id) setShown({ id, last: readLast(user.id, id) })
  useEffect(() => tabStorage.write(key, [user.id, id, name].join('/')), [user.id, id, name])
  return shown.last
}

function readLast(userId: number, currentId: number): LastOrganization | null {
  // The name may contain the separator.
  const [lastUserId, id, ...name] = tabStorage.read(key)?.split('/') ?? []
  const isOther = lastUserId === String(userId) && id !== String(currentId)
  return isOther ? { id: Number(id), name: name.join('/') } : null
}
