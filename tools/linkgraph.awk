# The graph of a program's files and rooms. Reads tools/layers.txt, then lines
# "file PATH", "includes PATH PATH", "defined PATH NAME", "wanted PATH NAME"
# (paths without their endings). -v show=check: offences against the rows, rooms
# that use each other in a circle, knots (files each of which needs all others)
# of more files than "most" says; text: rooms in their order, and the knots; dot.
FILENAME ~ /layers\.txt$/ {
    if (/^[+]/) { row = substr($1, 2); sub(/:/, "", row); for (i = 2; i <= NF; i++) besides[row] = besides[row] " " $i }
    if ($1 == "most:") { MOST = $2; next }
    if (/^[a-z]/) { row = $1; sub(/:/, "", row); rows[++nrows] = row; for (i = 2; i <= NF; i++) may[row] = may[row] " " $i }
    next
}
$1 == "file" { if (room_of($2) == "") offend($2 ": " $2 " is in no row of tools/layers.txt") ; next }
$1 == "includes" { use($2, $3, "includes " $4); next }
$1 == "defined" { if (!($3 in at)) at[$3] = $2; next }
$1 == "wanted" { want[++nwant] = $2 " " $3; next }
function offend(text) { offences[++noffences] = text }
function starts(path, with) { return path == with || index(path, with "/") == 1 }
function room_of(path,    i, best) {
    if (path in room) return room[path]
    best = ""
    for (i = 1; i <= nrows; i++)
        if (starts(path, rows[i]) && length(rows[i]) > length(best)) best = rows[i]
    return room[path] = best
}
function allowed(from, to,    i, n, item) {
    if (room_of(from) == room_of(to)) return 1
    n = split(may[room_of(from)] besides[from], item, " ")
    for (i = 1; i <= n; i++)
        if (starts(to, item[i])) return 1
    return 0
}
function use(from, to, how) {
    if (room_of(from) != "" && !allowed(from, to)) offend(from " " how ", which " room_of(from) "/ may not")
}
# Knots of the graph next_of[]: what neither a leaf nor a root takes part in, by who reaches whom.
function knots(name, n, next_of,    i, k, m, targets, changed, left, into, reaches, queue, from, to, head, tail, seen, line, size) {
    for (i = 1; i <= n; i++) left[name[i]] = 1
    do {
        changed = 0
        split("", into)
        for (i = 1; i <= n; i++)
            if (left[name[i]]) { m = split(next_of[name[i]], targets, " "); for (k = 1; k <= m; k++) into[targets[k]]++ }
        for (i = 1; i <= n; i++)
            if (left[name[i]]) {
                out = 0; m = split(next_of[name[i]], targets, " ")
                for (k = 1; k <= m; k++) out += left[targets[k]]
                if (!out || !into[name[i]]) { left[name[i]] = 0; changed = 1 }
            }
    } while (changed)
    for (i = 1; i <= n; i++)
        if (left[name[i]]) {
            head = tail = 0; queue[++tail] = name[i]
            while (head < tail) {
                m = split(next_of[queue[++head]], targets, " ")
                for (k = 1; k <= m; k++)
                    if (left[targets[k]] && !((name[i], targets[k]) in reaches)) { reaches[name[i], targets[k]] = 1; queue[++tail] = targets[k] }
            }
        }
    nknots = 0
    for (i = 1; i <= n; i++) {
        from = name[i]
        if (!left[from] || seen[from] || !((from, from) in reaches)) continue
        line = ""; size = 0
        for (k = 1; k <= n; k++) {
            to = name[k]
            if (to == from || (((from, to) in reaches) && ((to, from) in reaches))) { seen[to] = 1; line = line " " to; size++ }
        }
        knot[++nknots] = size line
    }
}
function insert(list, n, x,    i) { for (i = n; i > 0 && list[i] > x; i--) list[i + 1] = list[i]; list[i + 1] = x }
function graph(    i, w, from, to, a, b) {
    for (i = 1; i <= nwant; i++) {
        split(want[i], w, " "); from = w[1]; to = at[w[2]]
        if (to == "" || to == from) continue
        use(from, to, "uses " w[2] " of " to)
        if (!(from in known)) { known[from] = 1; insert(files, nfiles++, from) }
        if (!(to in known)) { known[to] = 1; insert(files, nfiles++, to) }
        if (!((from, to) in arrow)) { arrow[from, to] = 1; next_file[from] = next_file[from] " " to }
        a = room_of(from); b = room_of(to)
        if (a != b && !((a, b) in calls)) next_room[a] = next_room[a] " " b
        calls[a, b]++
    }
}
END {
    graph()
    if (show == "check") {
        knots(rows, nrows, next_room)
        for (i = 1; i <= nknots; i++) { sub(/^[0-9]+ /, "", knot[i]); offend("rooms that use each other in a circle: " knot[i]) }
        knots(files, nfiles, next_file)
        for (i = 1; i <= nknots; i++)
            if (knot[i] + 0 > MOST) { sub(/ /, " files that need each other: ", knot[i]); offend("a knot of more than " MOST ": " knot[i]) }
        for (i = 1; i <= noffences; i++) if (!said[offences[i]]++) print offences[i]
        exit noffences > 0
    }
    if (show == "dot") print "digraph house {\n  rankdir = TB; node [shape = box, fontname = \"sans-serif\", fontsize = 11]; edge [color = \"#8899aa\"];"
    for (i = 1; i <= nrows; i++) {
        n = 0
        for (k = 1; k <= nfiles; k++) n += room_of(files[k]) == rows[i]
        if (!n) continue
        if (show == "dot") printf "  \"%s\" [label = \"%s/\\n%d files\"];\n", rows[i], rows[i], n
        else printf "%-18s uses", rows[i]
        for (k = 1; k <= nrows; k++)
            if ((rows[i], rows[k]) in calls && i != k) {
                if (show == "dot") { if (rows[k] != "base") printf "  \"%s\" -> \"%s\";\n", rows[i], rows[k] }
                else printf " %s", rows[k]
            }
        if (show != "dot") print ""
    }
    if (show == "dot") { print "}"; exit }
    knots(files, nfiles, next_file)
    print "\nFiles that need each other, at most " MOST ":"
    for (i = 1; i <= nknots; i++) print "  " substr(knot[i], index(knot[i], " ") + 1)
}
