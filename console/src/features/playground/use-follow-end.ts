import { useCallback, useEffect, useRef, useState } from 'react'

/** Pixels from the end that still count as being there. */
const nearby = 48

/**
 * Keeps the end of a scrolled box in sight while its content grows, until the person scrolls up. The box's first child is the
 * content whose height is watched.
 */
export function useFollowEnd() {
  const box = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  const [away, setAway] = useState(false)

  const toEnd = useCallback(() => {
    following.current = true
    setAway(false)
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [])

  useEffect(() => {
    const element = box.current
    const content = element?.firstElementChild
    if (!element || !content) return
    let before = element.scrollTop
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element
      const near = scrollHeight - scrollTop - clientHeight < nearby
      // Content that grew takes the end away too: only who moves up leaves it.
      if (near) following.current = true
      else if (scrollTop < before) following.current = false
      before = scrollTop
      setAway(!following.current)
    }
    const observer = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(content)
    observer.observe(element)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [])

  return { box, away, toEnd }
}
