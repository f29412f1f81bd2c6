import { ArrowDown } from 'lucide-react'
import { useEffect, useCallback, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { text } from '../../text/index.ts'
import { conversation } from './conversation.ts'
import { useStore } from './store.ts'
import { TurnView } from './turn-view.tsx'

interface TranscriptProps {
  names: ReadonlyMap<string, string>
  readyIds: readonly string[]
  busy: boolean
}

/** Distance in pixels from the end within which the view keeps following. */
const nearEnd = 48

/** The conversation, scrolled to its end. */
export function Transcript({ names, readyIds, busy }: TranscriptProps) {
  const turns = useStore(conversation, (state) => state.turns)
  const { box, away, scrollToEnd } = useFollowEnd()
  const lastId = turns.at(-1)?.id
  // Scroll to a new turn.
  useEffect(scrollToEnd, [scrollToEnd, lastId])
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        role="region"
        aria-label={text.playground.conversation}
        tabIndex={0}
        // Positioned, so that what is hidden visually inside does not make the whole page longer.
        className="@container relative h-full overflow-y-auto focus-visible:-outline-offset-2"
      >
        <div className="flex min-h-full flex-col gap-8 px-4 py-4 sm:px-8">
          {turns.map((turn) => (
            <TurnView
              key={turn.id}
              turn={turn}
              names={names}
              readyIds={readyIds}
              last={turn.id === lastId}
              busy={busy}
            />
          ))}
        </div>
      </div>
      {away && (
        <Button
          size="icon"
          aria-label={text.playground.toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full! shadow"
          onClick={scrollToEnd}
        >
          <ArrowDown />
        </Button>
      )}
    </div>
  )
}

/** Keeps a scroll container at its end while its first child grows, until the person scrolls up. */
function useFollowEnd() {
  const box = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  const [away, setAway] = useState(false)

  const scrollToEnd = useCallback(() => {
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
      const near = scrollHeight - scrollTop - clientHeight < nearEnd
      // Growing content also increases the distance to the end. Only scrolling up stops following.
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

  return { box, away, scrollToEnd }
}
