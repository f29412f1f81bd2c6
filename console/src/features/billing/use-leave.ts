import { useEffect, useState } from 'react'

/** Leaves the console for a URL. `isLeaving` is false again when the back button restores the page. */
export function useLeave(): { isLeaving: boolean; leave: (url: string) => void } {
  const [isLeaving, setLeaving] = useState(false)
  useEffect(() => {
    const onPageShow = ({ persisted }: PageTransitionEvent) => persisted && setLeaving(false)
    window.addEventListener('pageshow', onPageShow)
    return () => window.removeEventListener('pageshow', onPageShow)
  }, [])
  const leave = (url: string) => {
    setLeaving(true)
    location.assign(url)
  }
  return { isLeaving, leave }
}
