"""English words whose forms no stemmer brings together: went and go, children and child."""

from __future__ import annotations

_FORMS = """
arise arose arisen; be was were been am is are; bear bore borne; beat beaten; become became; begin began begun;
bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; bring brought; build
built; burn burnt; buy bought; catch caught; choose chose chosen; come came; creep crept; deal dealt; dig dug;
do did done does; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell
fallen; feed fed; feel felt; fight fought; find found; fly flew flown; forbid forbade forbidden; forget forgot
forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone goes;
grow grew grown; hang hung; have had has; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know
knew known; lay laid; lead led; learn learnt; leave left; lend lent; lie lain; light lit; lose lost; make made;
mean meant; meet met; pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; say
said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot;
show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke
spoken; speed sped; spend spent; spin spun; stand stood; steal stole stolen; stick stuck; strike struck; swear
swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told;
think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; win
won; withdraw withdrew withdrawn; write wrote written; child children; man men; woman women; person people; foot
feet; tooth teeth; mouse mice; goose geese; life lives; wife wives; knife knives; half halves; leaf leaves;
index indices; matrix matrices; vertex vertices; datum data; good better best; bad worse worst
"""

PLAIN_FORMS: dict[str, str] = {
    form: words[0] for words in (group.split() for group in _FORMS.split(";")) for form in words[1:]
}
